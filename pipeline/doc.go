// Package pipeline feeds a sequence of batches through a device and overlaps
// what it takes: while one batch is worked on, the next is uploaded and the one
// before is downloaded.
//
//	          host            queue of its own   the caller's stream   queue of its own   host
//	batch 2   Source fills -> upload
//	batch 1                                   -> Work
//	batch 0                                                         -> download        -> Sink
//
// Each batch has a slot of its own from Source to Sink: host memory (pinned,
// where the device has that), memory on the device for its inputs, and events.
// There are [Stages.Depth] slots, which are used again and again; Source waits
// for a slot, and so the pipeline holds no more batches than that, however slow
// Sink is. Nothing else waits on the host: the queues wait for each other's
// events.
//
// What a slot's memory is used for is ordered by these waits:
//
//	Source writes host memory     when the host has seen all of the slot's last batch done
//	upload writes device memory   the same
//	Work reads it                 its stream waits for the upload's event
//	download reads Work's results its queue waits for an event behind Work's work
//	Sink reads host memory        when the host has waited for the download's event
//
// So memory that the stream's queue allocated is used by the download's queue
// after an event that was recorded later (see [device.Allocator]), and is freed
// in order after the download.
//
// A device without [device.AsyncQueue] transfers in Source's and Sink's goroutines:
// these and Work still overlap. The cpu device, which works in the host's memory,
// transfers nothing: Source fills the inputs themselves, and Sink is lent the
// memory of results that nobody else has.
package pipeline
