import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../src/catalog/endpoint.ts';
import { resolveConfig } from '../../src/config/resolve-config.ts';
import { type EndpointLoad, KnownEndpoints, type RunningCall } from '../../src/runtime/endpoints/endpoint-load.ts';
import { EndpointRecords } from '../../src/runtime/endpoints/endpoint-records.ts';
import { boundedMap } from '../../src/storage/memory.ts';
import { fakeEnvironment } from '../../src/testing/fake-environment.ts';
import { instant } from '../support/simulated.ts';

/** Records of an endpoint that has answered twenty calls in 100 ms each. */
async function known() {
  const environment = fakeEnvironment();
  const router = resolveConfig({ providers: [instant({ environment })], environment });
  const records = new EndpointRecords(new KnownEndpoints(boundedMap(10)), router, environment);
  const endpoint = { id: 'one/model', model: 'model' } as Endpoint;
  const waitingAt = (load: EndpointLoad): RunningCall => {
    const startedAt = environment.now();
    const call: RunningCall = {
      startedAt,
      kind: 'whole',
      patience: 1,
      onHang: () => {},
      index: -1,
      among: 0,
      tokens: 0,
      spared: 0,
      work: 0,
      mostWork: 0,
      isAccepted: false,
    };
    load.waiting(call);
    return call;
  };
  for (let call = 0; call < 20; call += 1) {
    const { generation, load } = records.started(endpoint);
    const running = waitingAt(load);
    await environment.advance(100);
    records.waited(endpoint, running, 'answered', environment.now());
    records.ended(endpoint, { ok: true, generation }, { latencyMs: 100, inOnePiece: true });
  }
  const wait = () => waitingAt(records.started(endpoint).load);
  return { environment, records, endpoint, wait };
}

describe('an endpoint that is silent', () => {
  it('is taken for one that hangs', async () => {
    const { environment, records, endpoint, wait } = await known();
    for (let call = 0; call < 5; call += 1) wait();
    await environment.advance(10_000);
    expect(records.checkForHang(endpoint)).toBe(true);
  });

  it('is not, where the process itself stood still, until it has been silent since', async () => {
    const { environment, records, endpoint, wait } = await known();
    for (let call = 0; call < 5; call += 1) wait();
    await environment.advance(10_000);
    records.stalled();
    expect(records.checkForHang(endpoint)).toBe(false);
    await environment.advance(500);
    expect(records.checkForHang(endpoint)).toBe(false);
    await environment.advance(30_000);
    expect(records.checkForHang(endpoint)).toBe(true);
  });
});
