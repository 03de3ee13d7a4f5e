// Everything that a program needs to train with Braid: a table of contents.
// docs/cpp.md shows how the parts go together.
#pragma once

#include "braid/base/error.h"        // the two kinds of errors
#include "braid/graph/graph.h"       // graphs: values, nodes, slots
#include "braid/graph/text.h"        // graphs as text
#include "braid/graph/var.h"         // values that functions are called with
#include "braid/io/data/dataset.h"   // samples by number: derive your own
#include "braid/io/data/loader.h"    // batches, made ahead
#include "braid/io/data/sources.h"   // the data that job files name
#include "braid/io/safetensors.h"    // tensors in files
#include "braid/models/models.h"     // the built-in models
#include "braid/ops/functions.h"     // functions on values: losses, layers
#include "braid/passes/optimizer.h"  // optimizers
#include "braid/passes/schedule.h"   // schedules of the learning rate
#include "braid/runtime/machine.h"   // this computer and its devices
#include "braid/train/array.h"       // members that come and go
#include "braid/train/job.h"         // one training run, checked
#include "braid/train/job_config.h"  // what a job file says
#include "braid/train/job_file.h"    // job files
#include "braid/train/job_folder.h"  // the folder of several jobs
#include "braid/train/job_hooks.h"   // losses and data of your own
#include "braid/train/job_list.h"    // several jobs, and members in files
#include "braid/train/list_run.h"    // several jobs as arrays, in one folder
#include "braid/train/listener.h"    // what a run tells while it goes on
#include "braid/train/run.h"         // training: the loop
#include "braid/train/run_files.h"   // the folder of a run
#include "braid/train/trainer.h"     // single steps, and arrays of members
#include "braid/version.h"           // kVersion
