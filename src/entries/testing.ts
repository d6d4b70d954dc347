/** The entry point `signalbox/testing`: checks for authors of parts, faults and simulated traffic. */

export { seededRandom } from '../providers/simulated/chance.ts';
export { simulated } from '../providers/simulated/provider.ts';
export type { SimulatedOptions } from '../providers/simulated/options.ts';
export type { SimulatedOutcome } from '../providers/simulated/outcomes.ts';
export type { AnswerScript, SimulatedAnswer } from '../providers/simulated/options.ts';
export { fakeEnvironment } from '../testing/fake-environment.ts';
export type { FakeEnvironment, FakeEnvironmentOptions } from '../testing/fake-environment.ts';
export { UNKNOWN_HOST_URL, refusingAddress } from '../testing/fault-upstream/connection-faults.ts';
export type { DeadAddress } from '../testing/fault-upstream/connection-faults.ts';
export { blackHole } from '../testing/fault-upstream/connection-faults.ts';
export { makeCertificate } from '../testing/fault-upstream/certificate.ts';
export type { CertificateKind, TestCertificate } from '../testing/fault-upstream/certificate.ts';
export type { FaultExchange, FaultSettings } from '../testing/fault-upstream/exchange.ts';
export type { Fault } from '../testing/fault-upstream/fault.ts';
export { startFaultUpstream } from '../testing/fault-upstream/fault-upstream.ts';
export type { FaultStep, FaultUpstream, FaultUpstreamOptions } from '../testing/fault-upstream/fault-upstream.ts';
export { FAULTS } from '../testing/fault-upstream/faults.ts';
export type { FaultId } from '../testing/fault-upstream/faults.ts';
export type { FaultWire, FaultWireName, WireError, RecordedRequest } from '../testing/fault-upstream/wire.ts';
export { strictUpstream } from '../testing/strict-upstream/strict-upstream.ts';
export type {
  StrictRefusal,
  StrictUpstream,
  StrictUpstreamOptions,
} from '../testing/strict-upstream/strict-upstream.ts';
export type { ChatTemplate, Finding, StrictRequest, StrictRule } from '../testing/strict-upstream/rule.ts';
export type { StrictVendor } from '../testing/strict-upstream/vendors.ts';
export { HOST_HEADER, adapterChecks } from '../testing/adapter-checks.ts';
export type { AdapterCheck, CheckFetch } from '../testing/adapter-checks.ts';
export { ADAPTER_BODY_LIMIT, adapterControl } from '../testing/adapter-control.ts';
export type { AdapterControl, HeldCall } from '../testing/adapter-control.ts';
export { providerChecks, providerChecksFor } from '../testing/provider-checks.ts';
export { scriptedVector } from '../testing/provider-checks/embedding-checks.ts';
export type {
  ProviderAbility,
  ProviderCheck,
  ProviderHarness,
  ScriptedAnswer,
  ScriptedExchange,
  ScriptedToolCall,
  ScriptedUsage,
} from '../testing/provider-checks/harness.ts';
export { batchStoreChecks, batchStoreChecksFor } from '../testing/batch-store-checks.ts';
export type { BatchStoreCheck, BatchStoreFaults, BatchStoreHarness } from '../testing/batch-store-checks/check.ts';
export { faultyStore } from '../testing/batch-store-checks/fault-checks.ts';
export type { FaultKind, FaultyStore } from '../testing/batch-store-checks/fault-checks.ts';
export { stateStoreChecks, stateStoreChecksFor } from '../testing/state-store-checks.ts';
export type { StateStoreCheck, StateStoreFaults, StateStoreHarness } from '../testing/state-store-checks.ts';
export { simulateTraffic } from '../testing/simulate-traffic/simulate-traffic.ts';
export { readTrace } from '../testing/simulate-traffic/trace.ts';
export type { SimulatedSetup, SimulatedWire } from '../testing/simulate-traffic/simulate-traffic.ts';
export type { TimePercentiles, TrafficFigures, TrafficReport } from '../testing/simulate-traffic/report.ts';
export type { TrafficClient } from '../testing/simulate-traffic/clients.ts';
export { SIMULATED_MODEL } from '../testing/simulate-traffic/world.ts';
export type {
  LatencyDistribution,
  Outage,
  PoisonRequests,
  RandomOutages,
  SharedDocuments,
  SimulatedAdvice,
  SimulatedAdviceForm,
  SimulatedEndpoint,
  SimulatedFault,
  SimulatedInference,
  SimulatedRateLimit,
  SimulatedTraffic,
  TracedRequest,
  TrafficWorld,
} from '../testing/simulate-traffic/world.ts';
