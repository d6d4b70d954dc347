import type { ReactNode } from 'react';

export default function Page(): ReactNode {
  return (
    <main>
      <h1>Signalbox in Next.js</h1>
      <p>
        The router is at <code>/api/v1</code>.
      </p>
    </main>
  );
}
