import { createRouter, memoryStore, type Router, simulated } from 'signalbox';
import { aiSdkProvider } from 'signalbox/ai-sdk';

const pace = Number(process.env.TOKENS_PER_SECOND ?? 12);

/** The first provider is always overloaded, so every answer shows a fallback. With keys of your own, list real ones. */
const options = {
  providers: [
    simulated({ slug: 'overloaded', models: { 'overloaded/chat': {} }, failureRate: 1 }),
    simulated({ tokensPerSecond: pace }),
  ],
  aliases: { chat: ['overloaded/chat', 'simulated/small'] },
  // With several instances: redisStore({ url: process.env.REDIS_URL }) of signalbox/redis.
  streams: { store: memoryStore(), keepMs: 60_000 },
};

// A server that loads modules again keeps one router.
const kept = globalThis as { signalbox?: Router };
export const router = (kept.signalbox ??= createRouter(options));
export const provider = aiSdkProvider(router);
