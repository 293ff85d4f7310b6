# SPDX-License-Identifier: Apache-2.0
"""Elastic training with Horovod's API, for programs that have their own state.

    state = st.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler, epoch=0)

    @st.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, 10):
            for index, (images, labels) in enumerate(loader):
                ...
                state.sampler.record_batch(index, loader.batch_size)
                state.commit()
            state.sampler.set_epoch(state.epoch + 1)

    train(state)

A lost worker costs no commit here: the remaining workers make the open step. See docs/ELASTIC.md.
"""

from stretto.torch.elastic.errors import HorovodInternalError, HostsUpdatedInterrupt
from stretto.torch.elastic.reader import ElasticReader
from stretto.torch.elastic.sampler import ElasticSampler
from stretto.torch.elastic.state import ObjectState, State, TorchState
from stretto.torch.elastic.running import run

__all__ = ["ElasticReader", "ElasticSampler", "HorovodInternalError", "HostsUpdatedInterrupt",
           "ObjectState", "State", "TorchState", "run"]
