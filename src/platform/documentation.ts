/** Set by the build (`scripts/build/documentation.ts`); absent where the sources run as they are. */
declare const SIGNALBOX_DOCUMENTATION: string | undefined;

/** Address of the documentation's pages, without a slash at its end; in a clone, the folder that has them. */
export const DOCUMENTATION: string = typeof SIGNALBOX_DOCUMENTATION === 'string' ? SIGNALBOX_DOCUMENTATION : 'docs';
