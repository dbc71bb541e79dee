/** A golden file: rule lines, the files of a configuration, and what a person reads. */
export interface GoldenFile {
  /** Everything before the output, as it is written. */
  readonly head: string
  readonly files: Readonly<Record<string, string>>
  readonly output: string
}

/** Reads `--- file: gateway.yaml` sections and the one after `--- output`. */
export function parseGolden(text: string): GoldenFile {
  const sections = text.split(/^(?=--- (?:file: .+|output)$)/m).filter(part => part.startsWith('--- '))
  const files: Record<string, string> = {}
  let output = ''
  for (const section of sections) {
    const newline = section.indexOf('\n')
    const title = section.slice('--- '.length, newline)
    const content = section.slice(newline + 1)
    if (title === 'output') output = content
    else files[title.slice('file: '.length)] = content
  }
  return { head: text.slice(0, text.indexOf('--- output\n')), files, output }
}
