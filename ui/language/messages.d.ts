export interface Message {
  readonly id: string;
  readonly places: readonly string[];
  readonly files: readonly string[];
}

export function messagesOf(root: string): Promise<Message[]>;
export function messagesIn(name: string, text: string): Pick<Message, 'id' | 'places'>[];
