/** Entries of a list in a log line, or in an answer of the health routes; a configuration may have thousands. */
export const MAX_SHOWN = 50

/** The first entries by name, and how many more there are. */
export function shownEntries(entries: ReadonlyMap<string, string>, most = MAX_SHOWN): object {
  const shown = Object.fromEntries([...entries].slice(0, most))
  return entries.size > most ? { ...shown, '…': `${entries.size - most} more` } : shown
}

/** The first names, and how many more there are. */
export function shownNames(names: readonly string[], most = MAX_SHOWN): readonly string[] {
  return names.length > most ? [...names.slice(0, most), `… ${names.length - most} more`] : names
}
