// Package pipeline feeds a sequence of batches through a device and overlaps the stages: while
// one batch is processed, the next is uploaded and the previous one is downloaded.
//
//	          host            queue of its own   the caller's stream   queue of its own   host
//	batch 2   Source fills -> upload
//	batch 1                                   -> Work
//	batch 0                                                         -> download        -> Sink
//
// Each batch has a slot of its own from Source to Sink: host memory (pinned,
// where the device has that), memory on the device for its inputs, and events. There are
// [Stages.Depth] slots, which are reused; Source waits for a slot, so the pipeline holds no
// more batches than that, however slow Sink is. Nothing else waits on the host: the queues wait
// for each other's events.
//
// These waits order the uses of a slot's memory:
//
//	Source writes host memory     when the host has seen the slot's last batch complete
//	upload writes device memory   the same
//	Work reads it                 its stream waits for the upload's event
//	download reads Work's results its queue waits for an event after Work's work
//	Sink reads host memory        when the host has waited for the download's event
//
// So the download's queue uses memory that the stream's queue allocated only after a later
// event (see [device.Allocator]), and the memory is freed in order after the download.
//
// A device without [device.AsyncQueue] transfers in Source's and Sink's goroutines:
// these and Work still overlap. The cpu device, which works in the host's memory, transfers
// nothing: Source fills the inputs themselves, and Sink borrows the memory of results without
// other owners.
package pipeline
