/** Where people at a terminal point, read from its text frames. Pure. */

import { fieldsOf, word } from '../../api/fields';
import { everybody, type Control, type Party } from './party';

/** Rows count from the top of the screen, those scrolled back are negative. */
export interface Place {
  /** Row and column. */
  readonly at: readonly [number, number] | null;
  /** The first cell, and the cell after the last. */
  readonly selected: readonly [number, number, number, number] | null;
}

export interface Pointer extends Place {
  readonly client: string;
}

/** The pointers of a frame; what is broken in it is left out. */
export function pointersOf(value: unknown): readonly Pointer[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one) => {
    const fields = fieldsOf(one);
    const client = word(fields?.['client']);
    if (client === '') return [];
    const at = cells(fields?.['at'], 2) as Place['at'];
    return [{ client, at, selected: cells(fields?.['selected'], 4) as Place['selected'] }];
  });
}

function cells(value: unknown, count: number): readonly number[] | null {
  if (!Array.isArray(value) || value.length !== count) return null;
  return value.every((one) => Number.isSafeInteger(one)) ? (value as number[]) : null;
}

/** Pointers of other people with their owners: those of nobody who is here are left out. */
export function ownedPointers(
  pointers: readonly Pointer[],
  control: Control | null,
  mine: Party | null,
): readonly (Pointer & { readonly party: Party })[] {
  const parties = new Map(
    (control === null ? [] : everybody(control)).map((party) => [party.client, party]),
  );
  return pointers.flatMap((one) => {
    const party = parties.get(one.client);
    return party === undefined || party.client === mine?.client ? [] : [{ ...one, party }];
  });
}

/** Whether several people are here: alone, nobody points for anybody. */
export function pointsForOthers(control: Control | null, mine: Party | null): boolean {
  if (control === null || mine === null) return false;
  return everybody(control).some(({ principal }) => principal !== mine.principal);
}
