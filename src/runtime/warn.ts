import type { EventHub, WarningEvent } from './events.ts';

/** Tells the operator something that must not go unheard: by event, or on the console when nobody listens. */
export function warn(events: EventHub, warning: WarningEvent): void {
  if (events.heard('warning')) events.emit('warning', warning);
  else console.warn(`signalbox: ${warning.message}`);
}
