"""Stacked training: many small models of one shape, trained together in one step on one device.

The weights of all models lie in one tensor, a row per model; every matmul is a batched matmul over
models. Each model keeps its own seed, data, learning rate, penalties and stopping rule, draws the
batches that it would draw alone, and writes the run folder that it would write alone.

    shape        what two runs must have in common to share a stack
    parameters   all weights of a model as one row of a tensor
    forward      the forward pass of a stack
    objective    losses and penalties, one number per model
    learner      the training step, captured as a CUDA graph on a GPU
    batches      the batches of all models for one step, in one buffer
    workers      processes that draw batches ahead of time
    evaluation   test sets of several models, evaluated together
    slots        a run that occupies one row of the stack
    trainer      `train_stack`
    launch       `stacked_sweep`, for `weft sweep --stack` and `weft study --stack`
"""
