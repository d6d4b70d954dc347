import { posix } from 'node:path';

/** Where links of a page lead that cannot stay as they are, and which can. */
export interface LinkTarget {
  /** Address of the repository, without a slash at its end. */
  readonly repository: string;
  /** Commit, tag or branch that links lead to. */
  readonly ref: string;
  /** True for what is in the package beside the page: a link to it may stay relative. */
  readonly isPacked: (path: string) => boolean;
  /** True for a folder of the repository. */
  readonly isFolder: (path: string) => boolean;
}

/** Links and pictures of Markdown, and of the HTML in it. */
const LINKS = [/(\]\()([^)\s]+)(\))/g, /(\b(?:src|srcset|href)=")([^"]+)(")/g];
const PICTURE = /\.(?:png|svg|gif|jpe?g|webp)$/;

/**
 * A page whose links work outside of the repository: those to what is not beside it lead into the repository.
 *
 * @param page - Its path in the repository.
 */
export function packedPage(page: string, text: string, target: LinkTarget): string {
  // Code may have what looks like a link.
  const parts = text.split(/(^```[\s\S]*?^```|`[^`\n]*`)/m);
  return parts.map((part, index) => (index % 2 === 1 ? part : withLinks(page, part, target))).join('');
}

function withLinks(page: string, text: string, target: LinkTarget): string {
  return LINKS.reduce(
    (changed, link) =>
      changed.replaceAll(link, (_all, before: string, address: string, after: string) => {
        return `${before}${packedLink(page, address, target)}${after}`;
      }),
    text,
  );
}

function packedLink(page: string, link: string, { repository, ref, isPacked, isFolder }: LinkTarget): string {
  if (/^[a-z][a-z\d+.-]*:|^#/i.test(link)) return link;
  const [path = '', fragment] = link.split('#');
  const place = posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, '');
  // The page that registries show has nothing beside it.
  if (page !== 'README.md' && isPacked(place)) return link;
  const kind = PICTURE.test(place) ? 'raw' : isFolder(place) ? 'tree' : 'blob';
  const base = repository.includes('gitlab') ? `${repository}/-` : repository;
  return `${base}/${kind}/${ref}/${place}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** Code in which another address takes the place of one, also where the build has broken its line. */
export function movedAddress(code: string, before: string, after: string): string {
  const letters = before.split('').map((letter) => letter.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&'));
  return code.replaceAll(new RegExp(letters.join('(?:\\\\\n)?'), 'g'), () => after);
}
