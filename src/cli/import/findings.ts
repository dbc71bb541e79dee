import type { Position } from '../../core/problems.js'

/**
 * What became of a setting: it means the same here; nearly the same; it needs a person's hand; there is nothing for it.
 */
export type Mark = 'exact' | 'approximate' | 'manual' | 'unsupported'

export interface Finding {
  readonly mark: Mark
  readonly position: Position
  /** The setting, as in `model_list[0].litellm_params.rpm`. */
  readonly path: string
  readonly message: string
}

/** `file:line:column  path  mark: message`, by their places. */
export function findingLines(findings: readonly Finding[]): readonly string[] {
  const sorted = [...findings].sort(({ position: a }, { position: b }) => a.line - b.line || a.column - b.column)
  const lines = sorted.map(({ mark, position: { file, line, column }, path, message }) =>
    [`${file}:${line}:${column}`, path, `${mark}: ${message}`].filter(part => part !== '').join('  '),
  )
  return [...new Set(lines)]
}
