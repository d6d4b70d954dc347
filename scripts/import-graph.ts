import { arrowsOf, circlesOf, climbingArrows, FLOORS, roomOf } from '../test/support/import-graph.ts';
import { sourceFiles } from '../test/support/source-files.ts';

/**
 * Prints the house as its imports draw it: each floor with its rooms, how many files each has, what it imports and what
 * imports it; then arrows that climb, and circles. Usage: npm run graph
 */
const files = sourceFiles('src', 'adapters');
const arrows = arrowsOf(files);
const rows = FLOORS.flatMap((rooms, floor) =>
  rooms.map((room) => {
    const own = files.filter(({ path }) => roomOf(path) === room);
    const out = new Set(arrows.filter(({ from }) => roomOf(from) === room).map(({ to }) => roomOf(to)));
    const into = new Set(arrows.filter(({ to }) => roomOf(to) === room).map(({ from }) => roomOf(from)));
    out.delete(room);
    into.delete(room);
    return {
      floor,
      room,
      files: own.length,
      lines: own.reduce((sum, { text }) => sum + text.trimEnd().split('\n').length, 0),
      'imports rooms': out.size,
      'imported by rooms': into.size,
    };
  }),
);
console.table(rows);
const climbing = climbingArrows(arrows);
const circles = circlesOf(arrows);
console.log(`${files.length} files, ${arrows.length} imports among them`);
console.log(`arrows that climb: ${climbing.length}`);
for (const { from, to } of climbing) console.log(`  ${from} -> ${to}`);
console.log(`circles: ${circles.length}`);
for (const circle of circles) console.log(`  ${circle.join(' ')}`);
