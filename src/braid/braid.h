// Everything that a program needs to train with Braid: a table of contents.
// docs/cpp.md shows how the parts go together.
#pragma once

#include "braid/base/error.h"    // the two kinds of errors
#include "braid/data/dataset.h"  // samples by number: derive your own
#include "braid/data/loader.h"   // batches, made ahead
#include "braid/data/sources.h"  // the data that job files name
#include "braid/graph/graph.h"   // graphs: values, nodes, slots
#include "braid/graph/text.h"    // graphs as text
#include "braid/graph/var.h"     // values that functions are called with
#include "braid/io/format/safetensors.h"  // tensors in files
#include "braid/models/models.h"          // the built-in models
#include "braid/ops/build/functions.h"    // functions on values: losses, layers
#include "braid/passes/step/optimizer.h"  // optimizers
#include "braid/passes/step/schedule.h"   // schedules of the learning rate
#include "braid/runtime/machine.h"        // this computer and its devices
#include "braid/schedule/cluster.h"       // jobs on a cluster on paper
#include "braid/schedule/policy.h"        // who goes first: derive your own
#include "braid/schedule/unit_simulator.h"  // jobs unit by unit, with copies
#include "braid/train/array/array.h"        // members that come and go
#include "braid/train/job/job.h"            // one training run, checked
#include "braid/train/job/job_config.h"     // what a job file says
#include "braid/train/job/job_file.h"       // job files
#include "braid/train/job/job_folder.h"     // the folder of several jobs
#include "braid/train/job/job_hooks.h"      // losses and data of your own
#include "braid/train/job/job_list.h"  // several jobs, and members in files
#include "braid/train/jobs/orchestrator.h"
#include "braid/train/run/list_run.h"   // several jobs as arrays, in one folder
#include "braid/train/run/listener.h"   // what a run tells while it goes on
#include "braid/train/run/run.h"        // training: the loop
#include "braid/train/run/run_files.h"  // the folder of a run
#include "braid/train/trainer.h"        // single steps, and arrays of members
#include "braid/version.h"              // kVersion
