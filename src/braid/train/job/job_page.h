// The keys of job files for the docs and for --help.
#pragma once

#include <string>
#include <vector>

namespace braid::train {

// Markdown, as docs/job.md.
std::string job_page();

// One key per line, at most 80 columns wide.
std::string job_help();

// The examples of the page, which read as lists of jobs.
std::vector<std::string> job_examples();

}  // namespace braid::train
