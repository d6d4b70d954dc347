/** The entry point `signalbox`: everything that most programs need. */

export { createRouter } from './router/default-router.ts';
export * from './entries/router.ts';
export * from './entries/providers.ts';
export * from './entries/plugins.ts';
export * from './entries/state.ts';
export * from './entries/mount.ts';
export * from './entries/wire.ts';
