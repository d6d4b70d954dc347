/** What pages have for GitHub, as the site shows it, where HTML is text. */

/** A page without comments, such as those that name what generates a part of it. Code keeps them. */
export function withoutComments(text: string): string {
  return text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part) => (part.startsWith('```') ? part : part.replaceAll(/<!--[\s\S]*?-->\n*/g, '')))
    .join('');
}

/**
 * Pictures for light and dark, which GitHub reads as HTML: as two pictures, of which the site's styles show the one that
 * fits its theme (`docs/.vitepress/config.ts`).
 */
export function withMarkdownPictures(text: string): string {
  return text.replaceAll(/<picture>[\s\S]*?<\/picture>/g, (picture) => {
    const [, alt = ''] = /<img[^>]*\balt="([^"]*)"/.exec(picture) ?? [];
    const [, light = ''] = /<img[^>]*\bsrc="([^"]*)"/.exec(picture) ?? [];
    const [, dark] = /<source[^>]*dark[^>]*\bsrcset="([^"]*)"/.exec(picture) ?? [];
    if (dark === undefined) return `![${alt}](${light})`;
    return `![${alt}](${light}){.only-light}![${alt}](${dark}){.only-dark}`;
  });
}
