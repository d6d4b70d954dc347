'use client';

import { useChat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { type FormEvent, type ReactNode, useState } from 'react';

interface Props {
  readonly id: string;
  readonly messages: UIMessage[];
}

export function Conversation({ id, messages: known }: Props): ReactNode {
  const [text, setText] = useState('');
  const { messages, sendMessage, status, error } = useChat({ id, messages: known, resume: true });
  const send = (event: FormEvent): void => {
    event.preventDefault();
    void sendMessage({ text });
    setText('');
  };
  return (
    <main>
      {messages.map(({ id: key, role, parts }) => (
        <p key={key} data-role={role}>
          <b>{role}: </b>
          {parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
        </p>
      ))}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} />
        <button disabled={status !== 'ready'}>Send</button>
      </form>
      <output>{error === undefined ? status : error.message}</output>
    </main>
  );
}
