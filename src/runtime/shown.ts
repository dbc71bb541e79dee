/** Maximum entries of a list in a log line or a health answer; a configuration may have thousands. */
const MAX_SHOWN_ENTRIES = 50

/** The first entries by name, and how many more there are. */
export function shownEntries(entries: ReadonlyMap<string, string>, maxEntries = MAX_SHOWN_ENTRIES): object {
  const shown = Object.fromEntries([...entries].slice(0, maxEntries))
  return entries.size > maxEntries ? { ...shown, '…': `${entries.size - maxEntries} more` } : shown
}

/** The first names, and how many more there are. */
export function shownNames(names: readonly string[], maxEntries = MAX_SHOWN_ENTRIES): readonly string[] {
  return names.length > maxEntries ? [...names.slice(0, maxEntries), `… ${names.length - maxEntries} more`] : names
}
