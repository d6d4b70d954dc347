/** Declares the page of the inspector, which the build writes. */

/** The page, which `npm run build` makes of the folder `inspector`. */
declare module '#inspector-page' {
  /** HTML with everything inside. */
  export const page: string;
  /** The `Content-Security-Policy` that lets this page run, and nothing else. */
  export const policy: string;
}
