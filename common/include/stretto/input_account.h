// SPDX-License-Identifier: Apache-2.0
// InputAccount: connects a worker with the readers of its process. Readers count their deliveries
// in an account. The worker with this account in its options reports them to its job, and returns
// the scheduler's limits to the readers. Worker and readers do not know each other.
#pragma once

#include <memory>

#pragma GCC visibility push(default)
namespace stretto {

class InputAccount;

/// A new account, for a program that counts some readers for one worker and others for another
/// worker, or for none.
std::shared_ptr<InputAccount> new_input_account();

/// The account of this process: the default in the options of workers and readers. It is Stretto's
/// only global object (decision 0048). Thread: any.
std::shared_ptr<InputAccount> process_input_account();

}  // namespace stretto
#pragma GCC visibility pop
