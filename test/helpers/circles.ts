import { importsOf, type Source } from './source-rules.js'

/**
 * Files that import themselves by way of others, by value or by type alone; of each such circle one way around, from a
 * file back to it.
 */
export function circlesOf(sources: readonly Source[]): string[] {
  const imports = new Map(sources.map(source => [source.path, filesOf(source)]))
  const [done, found] = [new Set<string>(), [] as string[]]
  const visit = (path: string, way: readonly string[]): void => {
    const before = way.indexOf(path)
    if (before >= 0) found.push([...way.slice(before), path].join(' → '))
    if (before >= 0 || done.has(path)) return
    for (const next of imports.get(path) ?? []) visit(next, [...way, path])
    done.add(path)
  }
  for (const path of imports.keys()) visit(path, [])
  return found
}

function filesOf(source: Source): readonly string[] {
  return importsOf(source).flatMap(({ file }) => (file === undefined ? [] : [file.replace(/\.js$/, '.ts')]))
}
