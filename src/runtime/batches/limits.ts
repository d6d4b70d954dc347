export type { BatchLimits } from '../../config/tables/batch-limits.ts';
