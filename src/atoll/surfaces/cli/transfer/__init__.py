"""Files, trees and commits on their way to and from this machine."""
