package ddl

import (
	"regexp"
	"strings"
)

// Mask stands for a secret in everything that is printed.
const Mask = "****"

var (
	secretWord = regexp.MustCompile(`(?i)passw|passphrase|\bpwd\b|secret|token|credential|private.?key|api.?key|access.?key|account.?key|sasl\.jaas`)
	secretRef  = regexp.MustCompile(`^\s*\$\{[^}]*\}\s*$`)
	// urlPassword is the password of scheme://user:password@host. The last @ before a slash ends it, so that a password with
	// an @ is hidden whole.
	urlPassword = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^/\s'":@]*:)([^/\s']+)(@)`)
	// secretPair is key=value in a query string or a DSN, and "key": "value" in JSON.
	secretPair = regexp.MustCompile(`(?i)([A-Za-z0-9_.-]*(?:passw|passphrase|pwd|secret|token|credential|private.?key|api.?key|access.?key|account.?key)[A-Za-z0-9_.-]*"?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^&;\s,}'"]+)`)
	// quotedOption is one 'key' = 'value' in a line of a script; the value may be cut by the end of the line.
	quotedOption = regexp.MustCompile(`'((?:[^']|'')*)'(\s*=\s*')((?:[^']|'')*)`)
)

// IsSecretKey reports whether the name of a key says that its value is a secret, also when it is misspelt: the value next
// to 'pasword' is as secret as the other.
func IsSecretKey(key string) bool {
	last := key[strings.LastIndexByte(key, '.')+1:]
	return secretWord.MatchString(key) || Nearest(last, []string{"password", "passphrase", "secret", "token"}) != ""
}

// RedactValue hides the secret parts of a value: all of it when secret is true, else passwords inside URLs, DSNs and JSON.
// '${env:NAME}' and '${file:path}' are no secrets and stay.
func RedactValue(value string, secret bool) string {
	if secret {
		if value == "" || secretRef.MatchString(value) {
			return value
		}
		return Mask
	}
	value = urlPassword.ReplaceAllStringFunc(value, func(m string) string {
		p := urlPassword.FindStringSubmatch(m)
		return p[1] + RedactValue(p[2], true) + p[3]
	})
	return secretPair.ReplaceAllStringFunc(value, func(m string) string {
		p := secretPair.FindStringSubmatch(m)
		return p[1] + RedactValue(p[2], true)
	})
}

// redactedLine is text[from:to], a line of a script, with stars over its secrets; no column moves. What stands before the
// line is looked at as well: the key may be on the line above its value.
func redactedLine(text string, from, to int) string {
	const before = 400
	start := max(0, from-before)
	for start > 0 && start < from && text[start]&0xC0 == 0x80 {
		start++ // not inside a letter
	}
	window := quotedOption.ReplaceAllStringFunc(text[start:to], func(m string) string {
		p := quotedOption.FindStringSubmatch(m)
		if !IsSecretKey(p[1]) || secretRef.MatchString(p[3]) {
			return m
		}
		return "'" + p[1] + "'" + p[2] + stars(p[3])
	})
	window = urlPassword.ReplaceAllStringFunc(window, func(m string) string {
		p := urlPassword.FindStringSubmatch(m)
		if secretRef.MatchString(p[2]) {
			return m
		}
		return p[1] + stars(p[2]) + p[3]
	})
	window = secretPair.ReplaceAllStringFunc(window, func(m string) string {
		p := secretPair.FindStringSubmatch(m)
		if strings.HasPrefix(p[2], "${") || strings.HasPrefix(p[2], "'") {
			return m
		}
		return p[1] + stars(p[2])
	})
	return window[strings.LastIndexByte(window, '\n')+1:]
}

func stars(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return '*'
	}, s)
}
