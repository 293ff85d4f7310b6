// SPDX-License-Identifier: Apache-2.0
// Mutual authentication of a launcher and an agent by a shared secret, and peers without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "tools/launch/remote/admission.h"
#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

using testing::HasSubstr;
using testing::Not;
using Kind = AgentFrame::Kind;

constexpr Duration kAdmissionLimit = 30s;
constexpr std::uint16_t kLauncherPort = 29400;
const std::string kLaunchSecretOfTest = "a secret of one launch";

AdmissionKey key_of(const std::string& secret) { return *AdmissionKey::derived_from(secret); }

AgentFrame nonce_frame() { return {Kind::kNonce, 0, 0, 0, {AdmissionKey::random_nonce()}}; }

TEST(LaunchAdmission, ProofHoldsForOneSidePortAndNonces) {
  const AdmissionKey key = key_of(kLaunchSecretOfTest);
  const AdmissionNonces nonces{AdmissionKey::random_nonce(), AdmissionKey::random_nonce()};
  const std::string proof = key.proof(AdmissionSide::kAgent, kLauncherPort, nonces);
  EXPECT_TRUE(key.accepts(proof, AdmissionSide::kAgent, kLauncherPort, nonces));
  EXPECT_FALSE(key.accepts(proof, AdmissionSide::kLauncher, kLauncherPort, nonces));
  EXPECT_FALSE(key.accepts(proof, AdmissionSide::kAgent, kLauncherPort + 1, nonces));
  EXPECT_FALSE(
      key.accepts(proof, AdmissionSide::kAgent, kLauncherPort, {nonces.launcher, nonces.agent}));
  EXPECT_FALSE(key.accepts(proof + "x", AdmissionSide::kAgent, kLauncherPort, nonces));
  EXPECT_FALSE(key.accepts("", AdmissionSide::kAgent, kLauncherPort, nonces));
  EXPECT_FALSE(key_of("another").accepts(proof, AdmissionSide::kAgent, kLauncherPort, nonces));
}

TEST(LaunchAdmission, LauncherWantsNonceThenProof) {
  const AdmissionKey key = key_of(kLaunchSecretOfTest);
  const AgentFrame nonce = nonce_frame();
  LauncherAdmission admission(key, kLauncherPort);
  const AgentFrame answer = **admission.take(nonce);
  EXPECT_FALSE(admission.is_passed());
  ASSERT_EQ(answer.texts.size(), 2u);
  const AdmissionNonces nonces{nonce.texts[0], answer.texts[0]};
  EXPECT_TRUE(key.accepts(answer.texts[1], AdmissionSide::kLauncher, kLauncherPort, nonces));
  const std::string proof = key.proof(AdmissionSide::kAgent, kLauncherPort, nonces);
  ASSERT_TRUE(admission.take({Kind::kProof, 0, 0, 0, {proof}}).ok());
  EXPECT_TRUE(admission.is_passed());
}

TEST(LaunchAdmission, LauncherRefusesFramesOutOfPlace) {
  const AdmissionKey key = key_of(kLaunchSecretOfTest);
  for (const AgentFrame& frame :
       {AgentFrame{Kind::kNonce, 0, 0, 0, {"short"}}, AgentFrame{Kind::kNonce, 0, 0, 0, {}},
        AgentFrame{Kind::kProof, 0, 0, 0, {std::string(AdmissionKey::kProofBytes, 'p')}},
        AgentFrame{Kind::kHello, 0, 0, 0, {}}}) {
    LauncherAdmission admission(key, kLauncherPort);
    EXPECT_EQ(admission.take(frame).status().code(), Code::kMalformed);
    EXPECT_FALSE(admission.is_passed());
  }
}

TEST(LaunchAdmission, LauncherRefusesItsOwnProof) {
  const AdmissionKey key = key_of(kLaunchSecretOfTest);
  LauncherAdmission admission(key, kLauncherPort);
  const AgentFrame answer = **admission.take(nonce_frame());
  EXPECT_EQ(admission.take({Kind::kProof, 0, 0, 0, {answer.texts[1]}}).status().code(),
            Code::kMismatch);
  EXPECT_FALSE(admission.is_passed());
}

// A listener in place of the launcher, and the bytes that the agent sent to it.
class LaunchAdmissionListener : public testing::Test {
 protected:
  // Answers the agent's first bytes with `answer`.
  Status admitted_by(const std::string& answer) {
    const SteadyClock clock;
    const OpenPort opened = *open_port("127.0.0.1", 0);
    const Descriptor agent = *connect_to({"127.0.0.1", opened.port}, kAdmissionLimit, clock);
    const Descriptor far(::accept4(opened.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::thread listener([&] {
      std::array<char, 4096> bytes;
      const ssize_t got = ::recv(far.get(), bytes.data(), bytes.size(), 0);
      if (got > 0) heard_.assign(bytes.data(), static_cast<std::size_t>(got));
      EXPECT_EQ(::send(far.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
      ::shutdown(far.get(), SHUT_WR);
    });
    Status status = admit_launcher(agent, kLaunchSecretOfTest, kAdmissionLimit, clock);
    listener.join();
    return status;
  }

  std::string heard_;
};

TEST_F(LaunchAdmissionListener, AgentTakesNoOrderBeforeProof) {
  const AgentFrame start{Kind::kStart, 0, 0, 1, {"/", "/bin/true", "true"}};
  EXPECT_EQ(admitted_by(encoded(start)).code(), Code::kMalformed);
  EXPECT_THAT(heard_, Not(HasSubstr(kLaunchSecretOfTest)));
}

TEST_F(LaunchAdmissionListener, AgentRefusesProofByAnotherSecret) {
  const std::string nonce = AdmissionKey::random_nonce();
  const std::string proof =
      key_of("another").proof(AdmissionSide::kLauncher, kLauncherPort, {"", nonce});
  EXPECT_EQ(admitted_by(encoded({Kind::kProof, 0, 0, 0, {nonce, proof}})).code(), Code::kMismatch);
}

TEST_F(LaunchAdmissionListener, AgentRefusesLongFrames) {
  EXPECT_EQ(admitted_by(encoded({Kind::kProof, 0, 0, 0, {std::string(300, 'x'), "p"}})).code(),
            Code::kMalformed);
}

TEST_F(LaunchAdmissionListener, AgentRejectsFramesAfterProof) {
  const AgentFrame start{Kind::kStart, 0, 0, 1, {"/", "/bin/true", "true"}};
  EXPECT_FALSE(admitted_by(encoded({Kind::kProof, 0, 0, 0, {}}) + encoded(start)).ok());
}

TEST_F(LaunchAdmissionListener, AgentSaysThatConnectionEnded) {
  const Status status = admitted_by("");
  EXPECT_EQ(status.code(), Code::kNetwork);
  EXPECT_THAT(status.cause(), HasSubstr("the connection ended"));
}

}  // namespace
}  // namespace stretto::launch
