"""tf.data: decode_and_crop_jpeg, resize, flip; AUTOTUNE, no private thread pool."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from bench.peers import data
from bench.peers.candidate import MEAN, STD, Candidate, Job


def _picture(path, label, job: Job, antialias: bool):
    encoded = tf.io.read_file(path)
    shape = tf.image.extract_jpeg_shape(encoded)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape,
        bounding_boxes=tf.zeros([1, 0, 4]),
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10,
        min_object_covered=0.0,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.concat([begin[:2], size[:2]], axis=0)
    image = tf.image.decode_and_crop_jpeg(
        encoded, window, channels=3, dct_method="INTEGER_ACCURATE"
    )
    image = tf.image.resize(image, [job.size, job.size], antialias=antialias)
    image = tf.image.random_flip_left_right(image)
    if job.floats:
        image = (image / 255.0 - tf.constant(MEAN)) / tf.constant(STD)
        return tf.transpose(image, [2, 0, 1]), label
    return tf.cast(tf.clip_by_value(tf.round(image), 0, 255), tf.uint8), label


class TfData(Candidate):
    def __init__(self, job: Job, antialias: bool) -> None:
        super().__init__(job)
        self.note = (
            ("antialias" if antialias else "no antialias")
            + "; decodes the crop only; "
            + ("float32 NCHW" if job.floats else "uint8 NHWC")
        )
        self.versions = {"tensorflow": tf.__version__}
        tf.config.threading.set_inter_op_parallelism_threads(job.workers)
        tf.config.threading.set_intra_op_parallelism_threads(1)
        rows = data.rows_of_job(job)
        paths, labels = [row[0] for row in rows], [row[1] for row in rows]
        self.dataset = (
            tf.data.Dataset.from_tensor_slices((paths, labels))
            .shuffle(len(paths), reshuffle_each_iteration=True)
            .map(
                lambda path, label: _picture(path, label, job, antialias),
                num_parallel_calls=tf.data.AUTOTUNE,
            )
            .batch(job.batch_size)
            .prefetch(2)
        )

    def epoch(self):
        for images, labels in self.dataset:
            yield int(labels.shape[0]), (images.numpy(), labels.numpy())


def make(job: Job, antialias: bool) -> TfData:
    return TfData(job, antialias)
