export { seededRandom } from '../core/seeded-random.ts';
export { simulated } from '../providers/simulated/provider.ts';
export type { SimulatedOptions } from '../providers/simulated/options.ts';
export type { SimulatedOutcome } from '../providers/simulated/outcomes.ts';
export type { AnswerScript, SimulatedAnswer } from '../providers/simulated/scripted-answer.ts';
export { fakeEnvironment } from './fake-environment.ts';
export type { FakeEnvironment, FakeEnvironmentOptions } from './fake-environment.ts';
export { UNKNOWN_HOST_URL, refusingAddress } from './fault-upstream/addresses.ts';
export type { DeadAddress } from './fault-upstream/addresses.ts';
export { blackHole } from './fault-upstream/black-hole.ts';
export { makeCertificate } from './fault-upstream/certificate.ts';
export type { CertificateKind, TestCertificate } from './fault-upstream/certificate.ts';
export type { FaultExchange } from './fault-upstream/exchange.ts';
export type { Fault } from './fault-upstream/fault.ts';
export type { FaultSettings } from './fault-upstream/fault-settings.ts';
export type { RecordedRequest } from './fault-upstream/recorded-request.ts';
export { startFaultUpstream } from './fault-upstream/fault-upstream.ts';
export type { FaultStep, FaultUpstream, FaultUpstreamOptions } from './fault-upstream/upstream-options.ts';
export { FAULTS } from './fault-upstream/faults.ts';
export type { FaultId } from './fault-upstream/faults.ts';
export type { FaultWire, WireError } from './fault-upstream/wire.ts';
export type { FaultWireName } from './fault-upstream/wires.ts';
export { HOST_HEADER, adapterChecks } from './adapter-checks.ts';
export type { AdapterCheck } from './adapter-checks.ts';
export { ADAPTER_BODY_LIMIT, adapterControl } from './adapter-control.ts';
export type { AdapterControl, HeldCall } from './adapter-control.ts';
export { providerChecks, providerChecksFor } from './provider-checks.ts';
export { scriptedVector } from './provider-checks/scripted-vector.ts';
export type { ProviderCheck } from './provider-checks/check.ts';
export type {
  ProviderAbility,
  ProviderHarness,
  ScriptedAnswer,
  ScriptedExchange,
  ScriptedToolCall,
  ScriptedUsage,
} from './provider-checks/harness.ts';
export { batchStoreChecks, batchStoreChecksFor } from './batch-store-checks.ts';
export type { BatchStoreCheck, BatchStoreHarness } from './batch-store-checks/check.ts';
export { faultyStore } from './batch-store-checks/faulty-store.ts';
export type { FaultKind, FaultyStore } from './batch-store-checks/faulty-store.ts';
export { stateStoreChecks, stateStoreChecksFor } from './state-store-checks.ts';
export type { StateStoreCheck, StateStoreHarness } from './state-store-checks.ts';
