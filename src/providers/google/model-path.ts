/**
 * Path of a model below the base address: a name with a slash in it, such as `tunedModels/x`, is a path already. A
 * name can never lead anywhere else: what means something in an address is escaped.
 */
export function modelPath(upstreamModel: string): string {
  // The author's name is part of ids of ours, not of Google's.
  const name = upstreamModel.replace(/^google\//, '');
  const segments = name.split('/');
  const isPath = segments.length > 1 && segments.every((segment) => /[^.]/.test(segment));
  return isPath ? segments.map(encodeURIComponent).join('/') : `models/${encodeURIComponent(name)}`;
}
