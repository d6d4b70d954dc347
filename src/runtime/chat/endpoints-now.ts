import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { RuntimeServices } from './services.ts';

/** Endpoints in the order of a plan; those that are asked nothing at the moment come last. */
export function endpointsNow({ records }: Pick<RuntimeServices, 'records'>, plan: RoutePlan): readonly Endpoint[] {
  const endpoints = plan.steps.map(({ endpoint }) => endpoint);
  const open = endpoints.filter((endpoint) => records.admission(endpoint).ok);
  return [...open, ...endpoints.filter((endpoint) => !open.includes(endpoint))];
}

/** Slug of the provider that is asked first by a plan as things are; empty when there is none. */
export function firstProvider(services: Pick<RuntimeServices, 'records'>, plan: RoutePlan): string {
  return endpointsNow(services, plan)[0]?.provider ?? '';
}
