import type { ReactNode } from 'react';
import { readChat } from '../../../lib/chats';
import { Conversation } from './conversation';

interface Props {
  readonly params: Promise<{ readonly id: string }>;
}

export default async function Page({ params }: Props): Promise<ReactNode> {
  const { id } = await params;
  return <Conversation id={id} messages={[...readChat(id).messages]} />;
}
