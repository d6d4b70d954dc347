/** Brackets within brackets that are read. An answer that goes deeper stays as it is. */
export const MAX_DEPTH = 64;
