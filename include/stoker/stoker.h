/** stoker/stoker.h: all of Stoker's public interface. Start with loader.h. */
#ifndef STOKER_STOKER_H
#define STOKER_STOKER_H

#include <stoker/archive.h>
#include <stoker/base.h>
#include <stoker/batch.h>
#include <stoker/codec.h>
#include <stoker/dataset.h>
#include <stoker/loader.h>
#include <stoker/os.h>
#include <stoker/pipeline.h>
#include <stoker/transform.h>

#endif
