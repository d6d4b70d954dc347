/**
 * What a provider bills an account that tries to leave its budget, in relation to the budget: each way must stay below
 * 1.05. Usage: npm run bench:budgets
 */
import { STRATEGIES, tryStrategy } from './budgets/strategies.ts';

let worst = 0;
for (const strategy of STRATEGIES) {
  const { name, admitted, ratio } = await tryStrategy(strategy);
  worst = Math.max(worst, ratio);
  console.log(
    `${ratio <= 1.05 ? '  ' : '! '}${name.padEnd(44)} ${String(admitted).padStart(4)} admitted  ${ratio.toFixed(3)}`,
  );
}
console.log(`${STRATEGIES.length} ways; the worst is ${worst.toFixed(3)} times the budget`);
process.exitCode = worst <= 1.05 ? 0 : 1;
