import express from 'express';
import { createServer } from 'node:http';
import { expressRouter } from 'signalbox/express';
import { benchRouter } from './bench-router.ts';
import { report } from './harness.ts';

const app = express();
app.use('/v1', expressRouter(benchRouter()));
report(createServer(app));
