import type { Command } from "./command.ts";
import { Misuse } from "./failures.ts";
import { optionsOf } from "./options.ts";

/** Options that every command takes. */
const common = ["json", "help"];

/** The name by which the completed command is called, as an alias of `npm run -s calls --`. */
const program = "calls";

const wordsOf = (command: string) =>
  [...(optionsOf[command] ?? []), ...common].map((name) => `--${name}`).join(" ");

/** Scripts by shell. They know all commands and options by themselves, and start nothing. */
const scripts: Readonly<Record<string, () => string>> = {
  bash: () => `_${program}() {
  local command=\${COMP_WORDS[1]} word=\${COMP_WORDS[COMP_CWORD]} words=
  if [ "$COMP_CWORD" -eq 1 ]; then words="${Object.keys(optionsOf).join(" ")}"
  else case "$command" in
${Object.keys(optionsOf)
  .map((command) => `    ${command}) words="${wordsOf(command)}" ;;`)
  .join("\n")}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
alias ${program}="npm run -s calls --"
complete -o default -F _${program} ${program}`,
  zsh: () => `alias ${program}="npm run -s calls --"
_${program}() {
  if (( CURRENT == 2 )); then compadd ${Object.keys(optionsOf).join(" ")}
  else case "$words[2]" in
${Object.keys(optionsOf)
  .map((command) => `    ${command}) compadd -- ${wordsOf(command)} ;;`)
  .join("\n")}
  esac; _files; fi
}
setopt complete_aliases
compdef _${program} ${program}`,
  fish: () =>
    [
      `function ${program}; npm run -s calls -- $argv; end`,
      `complete -c ${program} -n __fish_use_subcommand -f -a "${Object.keys(optionsOf).join(" ")}"`,
      ...Object.keys(optionsOf).flatMap((command) =>
        [...(optionsOf[command] ?? []), ...common].map(
          (name) => `complete -c ${program} -n "__fish_seen_subcommand_from ${command}" -l ${name}`,
        ),
      ),
    ].join("\n"),
};

/** The command that prints a shell's completion. */
export const completionCommands: Record<string, Command> = {
  async completion([shell = ""], _values, { terminal }) {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) throw new Misuse("completion is followed by bash, zsh or fish.");
    terminal.print(script());
    return 0;
  },
};
