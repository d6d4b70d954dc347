export { fakeEnvironment, seededRandom } from './fake-environment.ts';
export type { FakeEnvironment, FakeEnvironmentOptions } from './fake-environment.ts';
