// Where a node comes from, out of the texts that the exporter attached to it.
#pragma once

#include <string>
#include <string_view>

namespace braid::io::pt2 {

// "L__self__,,net.Net;L__self__fc,fc,torch.nn.modules.linear.Linear" -> "fc":
// the path of the innermost module, "" for the outermost one.
std::string layer_of(std::string_view module_stack);

// The innermost frame of a Python stack trace outside torch's own files (or
// the innermost at all), on one line of limited length:
// File "net.py", line 9, in forward: h = self.fc(x)
std::string source_of(std::string_view stack_trace);

}  // namespace braid::io::pt2
