package secret

import (
	"regexp"
	"slices"
	"strings"

	"vramsoak/parser/lex"
)

// Arguments returns a copy of a command in which the secrets are masked, and reports whether the
// command has secrets. It never masks an argument that contains {} or {list}, because the harness
// replaces these marks by paths.
func (n Names) Arguments(argv []string) (masked []string, found bool) {
	masked = slices.Clone(argv)
	ofTools := toolSecrets(argv)
	for i := 1; i < len(argv); i++ {
		text, found := ofTools[i]
		switch {
		case n.awaits(argv[i-1], argv[i]) && !strings.HasPrefix(argv[i], "--") && !marked(argv[i]):
			masked[i] = mask
		case found:
			masked[i] = text
		default:
			masked[i] = n.Text(argv[i])
		}
	}
	return masked, !slices.Equal(masked, argv)
}

// awaits reports whether the argument arg is a flag whose secret value is the next argument.
func (n Names) awaits(arg, next string) bool {
	return strings.HasPrefix(arg, "-") && flagName().MatchString(arg) && n.holds(arg, next)
}

func marked(arg string) bool {
	return strings.Contains(arg, "{}") ||
		strings.Contains(arg, "{list}")
}

// authSchemes matches the words that may come between "Authorization:" and the token.
const authSchemes = `bearer|basic|token|apikey|api-key|key|digest|negotiate|ntlm`

var (
	flagName = lex.Expression(`^--?[A-Za-z][A-Za-z0-9_.-]*$`)
	// value matches a value: up to the next blank, or in quotes.
	value      = `("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'&;,}]+)`
	assignment = lex.Expression(`((?:--?)?[A-Za-z][A-Za-z0-9_.-]*)(["']?\s*[=:]\s*)` + value)
	// schemes matches the word before a token, such as Bearer. scheme matches that word with the token
	// after it: "Bearer TOKEN".
	schemes = lex.Expression(`(?i)^(?:` + authSchemes + `)$`)
	scheme  = lex.Expression(`(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})`)
	// header matches a token after "Authorization:". It also matches tokens that are too short for
	// scheme, because the name of the header shows that they are tokens.
	header = lex.Expression(`(?i)(authorization["']?\s*[=:]\s*["']?(?:` + authSchemes + `)\s+)` +
		`([^\s"'&;,{}]+)`)
	flagged = lex.Expression(`(--?[A-Za-z][A-Za-z0-9_.-]*)(\s+)` + value)
)

// Text returns a command line, or one argument of it, with its secrets masked. The argument may be
// a script, as in bash -c. Text masks values after the name of a secret, passwords in addresses,
// and tokens of a known form.
func (n Names) Text(arg string) string {
	if name, value, ok := strings.Cut(arg, "="); ok && plainName().MatchString(name) {
		switch {
		case n.holds(name, value) && (value == "" || marked(value)):
			return arg
		case n.holds(name, value):
			return name + "=" + mask
		case n.Secret(name):
			return arg
		case name == shellFolder: // in a script a command may follow
			end := len(arg)
			if i := strings.IndexAny(arg, " \t\n;"); i >= 0 {
				end = i
			}
			return arg[:end] + n.Text(arg[end:])
		case IsDSN(value):
			return name + "=" + MaskDSN(value)
		}
	}
	if IsDSN(arg) {
		return MaskDSN(arg)
	}
	arg = toolText(arg)
	arg = header().ReplaceAllString(arg, "${1}"+mask)
	arg = scheme().ReplaceAllString(arg, "${1}${2}"+mask)
	arg = n.replace(assignment(), arg)
	arg = n.replace(flagged(), arg)
	return forms().ReplaceAllString(Credentials(arg), mask)
}

var plainName = lex.Expression(`^-{0,2}[A-Za-z][A-Za-z0-9_.-]*$`)

// replace returns the text with secret values masked. The expression of finds names with their
// values: its first group is the name and its third the value. If the name is not that of a secret,
// replace searches the value for further secrets: in https://host/?token=SECRET, "https" looks like
// a name and the rest like its value.
func (n Names) replace(of *regexp.Regexp, text string) string {
	return of.ReplaceAllStringFunc(text, func(match string) string {
		part := of.FindStringSubmatch(match)
		held := strings.Trim(part[3], `"'`)
		switch {
		case !n.holds(part[1], held):
			return part[1] + part[2] + n.replace(of, part[3])
		case held == "" || marked(held) || schemes().MatchString(held):
			return match
		}
		return part[1] + part[2] + mask
	})
}

// forms matches tokens in the forms that their issuers document: Hugging Face, OpenAI and
// Anthropic, GitHub, GitLab, Slack, AWS, Google, npm, Docker, PyPI, JSON Web Tokens.
var forms = lex.Expression(`\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|` +
	`gh[pousr]_[A-Za-z0-9]{16,}|` +
	`github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeprs]-[A-Za-z0-9-]{10,}|` +
	`A[KS]IA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|` +
	`dckr_pat_[A-Za-z0-9_-]{16,}|pypi-[A-Za-z0-9_-]{16,}|` +
	`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+)`)
