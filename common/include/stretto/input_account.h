// SPDX-License-Identifier: Apache-2.0
// The handle by which a worker and the readers of its process meet: readers count in an account
// what they deliver, and the worker whose options name the same one tells its job of it, and brings
// back what the job's scheduler would have them keep to. Neither knows the other.
#pragma once

#include <memory>

#pragma GCC visibility push(default)
namespace stretto {

class InputAccount;

/// One more, for a program that wants some readers counted for one worker and others for another,
/// or for none.
std::shared_ptr<InputAccount> new_input_account();

/// The one of this process: what the options of workers and of readers name unless another is set.
/// This is the only thing in Stretto that a program has without making it or being handed it
/// (decision 0048). Thread: any.
std::shared_ptr<InputAccount> process_input_account();

}  // namespace stretto
#pragma GCC visibility pop
