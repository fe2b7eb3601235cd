/** The types of the API's operations, by method and path. Nothing here exists at run time. */
import type { paths } from './made/schema.js';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that have an operation of this method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends PathsWith<M>> =
  paths[P] extends Record<M, infer O> ? O : never;

type Part<O, N extends string> = O extends { parameters: infer All }
  ? N extends keyof All
    ? Exclude<All[N], undefined>
    : never
  : never;

type Given<N extends string, T> = [T] extends [never]
  ? { readonly [K in N]?: never }
  : Record<string, never> extends T
    ? { readonly [K in N]?: T }
    : { readonly [K in N]: T };

type BodyOf<O> = O extends { requestBody: { content: infer C } }
  ? { readonly body: Sent<C> }
  : O extends { requestBody?: { content: infer C } }
    ? { readonly body?: Sent<C> }
    : { readonly body?: never };

type Sent<C> = C extends { 'application/json': infer J } ? J : BodyInit;

/** The parameters and the body of an operation. */
export type Input<M extends Method, P extends PathsWith<M>> = Given<
  'path',
  Part<Operation<M, P>, 'path'>
> &
  Given<'query', Part<Operation<M, P>, 'query'>> &
  BodyOf<Operation<M, P>> & {
    /** Repeated with the same key within a day, the request is performed once. */
    readonly idempotencyKey?: string;
    readonly signal?: AbortSignal;
  };

type Successes = 200 | 201 | 202;
type Json<R> = R extends { content: { 'application/json': infer J } } ? J : never;

/** What an operation answers: JSON where it has any, else null. */
export type Answer<M extends Method, P extends PathsWith<M>> =
  Operation<M, P> extends {
    responses: infer R;
  }
    ? [Json<R[keyof R & Successes]>] extends [never]
      ? null
      : Json<R[keyof R & Successes]>
    : never;
