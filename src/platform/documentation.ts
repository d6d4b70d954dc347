/** The version of the package and the address of its documentation. */

/** What the build puts in (`scripts/build/documentation.ts`); absent where the sources run as they are. */
declare const SIGNALBOX_DOCUMENTATION: string | undefined;
declare const SIGNALBOX_VERSION: string | undefined;

/** Version of the package; that of no release where the sources run as they are. */
export const VERSION: string = typeof SIGNALBOX_VERSION === 'string' ? SIGNALBOX_VERSION : '0.0.0';

/** Address of the documentation's pages, without a slash at its end. Where the sources run as they are, that of npm's newest. */
export const DOCUMENTATION: string =
  typeof SIGNALBOX_DOCUMENTATION === 'string' ? SIGNALBOX_DOCUMENTATION : 'https://unpkg.com/signalbox/docs';
