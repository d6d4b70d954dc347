import type { Modality } from '../../catalog/parameters.ts';
import type { Message } from '../../protocol/message.ts';

/** What a prompt consists of. */
export interface PromptContent {
  readonly modalities: readonly Modality[];
  /** UTF-16 units of text, without media. */
  readonly characters: number;
  readonly images: number;
}

/** Looks through the messages once for everything that selection needs to know about them. */
export function surveyPrompt(messages: readonly Message[]): PromptContent {
  const modalities = new Set<Modality>();
  let characters = 0;
  let images = 0;
  for (const message of messages) {
    if (typeof message.content === 'string') characters += message.content.length;
    else {
      for (const part of message.content ?? []) {
        if (part.type === 'text') characters += part.text.length;
        else if (part.type === 'image_url') images += 1;
        const modality = MODALITY_OF_PART[part.type];
        if (modality !== undefined) modalities.add(modality);
      }
    }
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) characters += call.function.arguments.length;
    }
  }
  return { modalities: [...modalities], characters, images };
}

/** Files are left out: they may be parsed into text, so they never exclude a model by themselves (gaps 1.2). */
const MODALITY_OF_PART: Readonly<Record<string, Modality | undefined>> = {
  image_url: 'image',
  input_audio: 'audio',
  video_url: 'video',
  input_video: 'video',
};
