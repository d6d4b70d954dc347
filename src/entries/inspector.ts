/** Public surface of `signalbox/inspector`: a page that shows what a router does. */
export { inspector } from '../http/inspector/inspector.ts';
export type { Inspector } from '../config/inspector.ts';
export type { InspectorOptions, InspectorRequest } from '../http/inspector/serve.ts';
