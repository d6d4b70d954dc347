/** Makes the endpoints of a declaration: one for each credential that the provider has. */
import type { Endpoint, EndpointOwner } from './endpoint.ts';

/** The endpoints that come of a declaration: one for each key of its provider. */
export function endpointsPerKey(endpoint: Endpoint, { keys }: EndpointOwner): readonly Endpoint[] {
  if (keys === undefined) return [endpoint];
  return keys.map(({ name, weight, rpm, tpm, concurrency }) => {
    const tag = `${endpoint.tag}/${name}`;
    const limits = {
      rpm: rpm ?? endpoint.rpm,
      tpm: tpm ?? endpoint.tpm,
      concurrency: concurrency ?? endpoint.concurrency,
    };
    return { ...endpoint, ...limits, tag, id: `${tag}#${endpoint.model}`, key: name, weight };
  });
}

/** The endpoint without the key that it is called with: what its provider's keys have in common. */
export function withoutKey(endpoint: Endpoint): Endpoint {
  const { key, weight: _, ...rest } = endpoint;
  if (key === undefined) return endpoint;
  const tag = rest.tag.slice(0, -key.length - 1);
  return { ...rest, tag, id: `${tag}${rest.id.slice(rest.tag.length)}` };
}
