/**
 * A plugin that runs although requests do not name it. In the configuration for everybody, or at an account.
 * The request's own entry wins, unless `preventOverrides` is set (gaps 5).
 */
export interface PluginDefault {
  readonly id: string;
  /** Options as they would stand in a request's entry. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** False: it does not run unless a request asks for it. Default true. */
  readonly enabled?: boolean | undefined;
  /** True: what a request says of this plugin is ignored. Default false. */
  readonly preventOverrides?: boolean | undefined;
}
