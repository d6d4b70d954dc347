import { ANTHROPIC_WIRE } from './anthropic-wire.ts';
import { CHAT_WIRE } from './chat-wire.ts';
import { GOOGLE_WIRE } from './google-wire.ts';
import type { FaultWire } from './wire.ts';

/** The wires that a fault upstream can speak: `chat` is that of chat completions, `anthropic` the Messages API, `google` Google's own. */
export const FAULT_WIRES = {
  chat: CHAT_WIRE,
  anthropic: ANTHROPIC_WIRE,
  google: GOOGLE_WIRE,
} as const satisfies Readonly<Record<string, FaultWire>>;

/** Name of a wire that a fault upstream can speak. */
export type FaultWireName = keyof typeof FAULT_WIRES;
