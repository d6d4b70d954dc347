/** Public surface of `signalbox/inspector`: a page that shows what a router does. */
export { inspector } from '../inspector/inspector.ts';
export type { InspectorOptions, InspectorRequest } from '../inspector/inspector.ts';
export type { Inspector } from '../config/inspector.ts';
