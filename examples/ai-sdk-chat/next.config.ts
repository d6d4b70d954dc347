import type { NextConfig } from 'next';

const config: NextConfig = {
  typescript: { ignoreBuildErrors: false },
};

export default config;
