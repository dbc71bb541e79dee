import type { Command, Option } from 'commander'

/** A command, with what completion and reference need of it. */
export interface CommandNode {
  /** Words after `gateway`; none for the whole program. */
  readonly path: readonly string[]
  readonly description: string
  /** As help shows it: `[options] [file]`. */
  readonly usage: string
  readonly options: readonly OptionNode[]
  readonly arguments: readonly ArgumentNode[]
  readonly commands: readonly CommandNode[]
}

export interface OptionNode {
  readonly flags: string
  readonly names: readonly string[]
  readonly description: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

export interface ArgumentNode {
  readonly name: string
  readonly description: string
  readonly choices: readonly string[]
}

export function commandTree(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp()
  return {
    path,
    description: command.description(),
    usage: command.usage(),
    options: help.visibleOptions(command).map(optionNode),
    arguments: command.registeredArguments.map(argument => ({
      name: argument.name(),
      description: argument.description,
      choices: argument.argChoices ?? [],
    })),
    commands: help.visibleCommands(command).map(child => commandTree(child, [...path, child.name()])),
  }
}

function optionNode({ flags, short, long, description, required, optional, argChoices = [] }: Option): OptionNode {
  const names = [short, long].filter(name => name !== undefined)
  return { flags, names, description, takesValue: required || optional, choices: argChoices }
}

/** A command and all below it, the command first. */
export function withCommandsBelow(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(withCommandsBelow)]
}
